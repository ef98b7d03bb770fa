import { BlockList, isIP } from 'node:net'

/** What is not the open internet: this machine, its network, its neighbours, and reserved addresses. */
const closed = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  closed.addSubnet(net, bits, 'ipv4')
/** Of the sixth version only what is given out to the world is open, and of that not what wraps another address. */
const open6 = new BlockList()
open6.addSubnet('2000::', 3, 'ipv6')
const wrapped6 = new BlockList()
for (const [net, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  wrapped6.addSubnet(net, bits, 'ipv6')

/** Whether an address belongs to the open internet. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !closed.check(address, 'ipv4')
  return version === 6 && open6.check(address, 'ipv6') && !wrapped6.check(address, 'ipv6')
}
