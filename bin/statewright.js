#!/usr/bin/env node
// Only syntax that every Node reads, so that an older one can print the sentence below.
const found = process.versions.node
const [major, minor] = found.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`Statewright needs Node 22.18 or newer; this is Node ${found}.\n`)
  process.exitCode = 1
} else {
  void import('./start.js')
}
