/** The first import of every entry point: on an older Node the package says so before anything else fails. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18))
  throw new Error(`Statewright needs Node 22.18 or newer; this is Node ${process.versions.node}.`)
