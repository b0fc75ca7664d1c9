import { expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import type { RunCommand } from './host/run-command.ts'
import { type ConnectionQuery, parseTracked, readConnections } from './read-connections.ts'

const TCP =
  'tcp      6 431999 ESTABLISHED src=10.0.0.2 dst=10.96.0.1 sport=40000 dport=80 src=10.180.0.1 dst=192.168.0.2 sport=8080 dport=1025 [ASSURED] mark=0 use=1'
const UDP =
  'udp      17 29 src=fd00::2 dst=fd00::a sport=5353 dport=53 [UNREPLIED] src=fd00::b dst=fd00::2 sport=53 dport=5353 mark=0 use=1'

const QUERY: ConnectionQuery = {
  family: 4,
  protocol: 'TCP',
  srcPort: 40_000,
  dst: '10.96.0.1' as IpAddress,
  dstPort: 80,
  from: '10.0.0.2' as IpAddress,
}

test('an entry of TCP, and one of UDP without an answer', () => {
  expect(parseTracked(TCP)).toEqual({
    protocol: 'TCP',
    state: 'ESTABLISHED',
    secondsLeft: 431_999,
    isAnswered: true,
    original: { src: '10.0.0.2', srcPort: 40_000, dst: '10.96.0.1', dstPort: 80 },
    reply: { src: '10.180.0.1', srcPort: 8080, dst: '192.168.0.2', dstPort: 1025 },
  })
  expect(parseTracked(UDP)).toMatchObject({
    protocol: 'UDP',
    state: '',
    secondsLeft: 29,
    isAnswered: false,
    reply: { src: 'fd00::b', dstPort: 5353 },
  })
})

test.each(['', 'icmp 1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1', 'tcp 6 1 CLOSE src=x'])(
  '%j is no entry',
  (line) => {
    expect(parseTracked(line)).toBeUndefined()
  },
)

test('the kernel is queried for one client and port, and few of many are listed', async () => {
  const commands: string[] = []
  const run: RunCommand = async (program, args) => {
    commands.push([program, ...args].join(' '))
    const lines = Array.from({ length: 12 }, (_, n) => TCP.replace('431999', String(n)))
    return { status: 0, stdout: lines.join('\n'), stderr: '' }
  }
  const found = await readConnections(run, QUERY)
  expect(found).toMatchObject({ count: 12 })
  const listed = typeof found === 'string' ? [] : found.listed.map((one) => one.secondsLeft)
  expect(listed).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
  expect(commands).toEqual([
    'conntrack -L -f ipv4 -p tcp --orig-dst 10.96.0.1 --orig-port-dst 80 --orig-src 10.0.0.2 --orig-port-src 40000',
  ])
  const none = await readConnections(run, { ...QUERY, from: (src) => src !== '10.0.0.2' })
  expect(none).toEqual({ listed: [], count: 0 })
})

test('without the program, and where the kernel refuses, the reason is given', async () => {
  const fails = (status: number, stderr: string): RunCommand => {
    return async () => ({ status, stdout: '', stderr })
  }
  expect(await readConnections(fails(127, ''), QUERY)).toContain('conntrack is not installed')
  expect(await readConnections(fails(1, 'conntrack: Operation failed\nmore'), QUERY)).toBe(
    'conntrack: Operation failed',
  )
})
