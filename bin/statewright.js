#!/usr/bin/env node
// Syntax that every Node understands, so that one which is too old still gets to read the sentence below.
const found = process.versions.node
const [major, minor] = found.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`Statewright runs on Node 22.13 or newer; this is Node ${found}.\n`)
  process.exitCode = 1
} else {
  void import('./start.js')
}
