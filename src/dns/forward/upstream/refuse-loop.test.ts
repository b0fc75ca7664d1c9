import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { refuseLoop } from '../open-forwarder.ts'
import { parseUpstream } from './upstream.ts'

const LOCAL = ['127.0.0.1', '10.0.0.5', '::1', 'fd00::5', 'fe80::5%eth0']

function loops(upstream: string, listening: string): boolean {
  const [own] = [/^(.*)#(\d+)$/.exec(listening)!]
  const listen = { address: own[1]!, port: Number(own[2]) }
  try {
    refuseLoop([parseUpstream(upstream)!], [{ address: '10.9.9.9', port: 53 }, listen], LOCAL)
    return false
  } catch (error) {
    expect(error).toMatchObject({ code: 'NP_DNS_LOOP' })
    return true
  }
}

test.each([
  ['10.0.0.5', '10.0.0.5#53'],
  ['fd00::5', 'fd00::5#53'],
  ['10.0.0.5', '0.0.0.0#53'],
  ['127.0.0.53', '0.0.0.0#53'],
  ['127.0.0.1:1053', '0.0.0.0#1053'],
  ['::1', '::#53'],
  ['fe80::5%eth0', '::#53'],
])('upstream %s of a server at %s is a loop', (upstream, listening) => {
  expect(loops(upstream, listening)).toBe(true)
})

test.each([
  ['10.0.0.6', '10.0.0.5#53'],
  ['10.0.0.5:54', '10.0.0.5#53'],
  ['10.0.0.6', '0.0.0.0#53'],
  ['127.0.0.53', '127.0.0.1#53'],
  ['fd00::5', '0.0.0.0#53'],
  ['10.0.0.5', 'fd00::5#53'],
  ['127.0.0.1', '::#53'],
  ['10.0.0.5', '::#53'],
])('upstream %s of a server at %s is none', (upstream, listening) => {
  expect(loops(upstream, listening)).toBe(false)
})

test("the machine's own addresses are known, and the message says what to do", () => {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4')!
  const upstreams = ['192.0.2.1', own.address].map((text) => parseUpstream(text)!)
  expect(() => refuseLoop(upstreams, [{ address: '0.0.0.0', port: 53 }])).toThrow(
    `upstream ${own.address}:53 is an address at which this server listens; name the DNS servers`,
  )
})
