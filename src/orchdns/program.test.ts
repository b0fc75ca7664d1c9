import { beforeEach, describe, expect, test, vi } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import { type RunDns, runProgram } from './program.ts'

let out: string
let err: string
let logged: string
const run = vi.fn<RunDns>()
beforeEach(() => {
  out = ''
  err = ''
  logged = ''
  run.mockReset()
})

function start(...args: string[]) {
  return runProgram(args, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    logStream: { write: (text) => void (logged += text) },
    version: '1.2.3',
    loadServer: () => Promise.resolve(run),
  })
}

test('--help names every setting, --version the version', async () => {
  expect(await start('--help')).toBe(0)
  expect(out).toMatch(/^orch-dns answers.*--dns-address.*--cluster-domain.*--dns-upstream/s)
  out = ''
  expect(await start('--version')).toBe(0)
  expect(out).toBe('orch-dns 1.2.3\n')
  expect(run).not.toHaveBeenCalled()
})

test('flags become settings; what is not given has its default', async () => {
  const flags = [
    '--dns-address=127.0.0.1,[::1]:5353',
    '--dns-upstream=192.0.2.53,fe80::1%eth0',
    '--cluster-domain=example.internal',
    '--dns-client-networks=10.0.0.0/8',
  ]
  expect(await start(...flags)).toBe(0)
  expect(run.mock.calls[0]?.[0]).toMatchObject({
    dns: {
      addresses: [
        { ip: '127.0.0.1', port: 53 },
        { ip: '::1', port: 5_353 },
      ],
      domain: 'example.internal',
      clientNetworks: ['10.0.0.0/8'],
      forward: {
        upstreams: [
          { address: '192.0.2.53', port: 53 },
          { address: 'fe80::1%eth0', port: 53 },
        ],
        resolvConf: '',
      },
    },
    statusAddress: { ip: '0.0.0.0', port: 9_153 },
    shutdownDelay: 5_000,
  })
})

describe('wrong settings are refused before anything starts', () => {
  test.each([
    ['--dns-address=localhost', /--dns-address\[0\]: "localhost": write addresses such as/],
    ['--dns-address=', /--dns-address.*a DNS server needs an address/],
    ['--cluster-domain=Cluster.local', /--cluster-domain.*write a domain of two labels/],
    ['--cluster-domain=local', /--cluster-domain.*write a domain of two labels/],
    ['--dns-upstream=0.0.0.0', /--dns-upstream\[0\]: "0.0.0.0": write addresses/],
    [
      '--dns-client-networks=10.0.0.1',
      /--dns-client-networks\[0\]: "10.0.0.1": write networks with a prefix/,
    ],
    ['--dns-server-address=a', /--dns-server-address\[0\]: "a": write IP addresses/],
    ['--dns-amplified-bytes-per-second=1', /--dns-amplified-bytes-per-second/],
    ['--dns-adress=1.1.1.1', /--dns-adress.*--dns-address/],
  ])('%s', async (flag, message) => {
    expect(await start(flag)).toBe(2)
    expect(err.replaceAll(/\s+/g, ' ')).toMatch(message)
    expect(run).not.toHaveBeenCalled()
  })
})

test('what keeps it from serving ends it with 1 and a record', async () => {
  run.mockRejectedValue(new NodeProxyError('NP_DNS_LISTEN', 'no', { hint: 'another port' }))
  expect(await start()).toBe(1)
  expect(logged).toContain('NP_DNS_LISTEN')
})
