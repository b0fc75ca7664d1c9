import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { servePod } from '../../../src/sandbox/agent/pod-serve.ts'
import { sendRequest } from '../../../src/sandbox/agent/send-request.ts'

/**
 * In a network namespace of its own, where every connection has the same source port. Prints how often first packets were repeated: to
 * servers that hold the TIME_WAIT of an earlier connection with other time stamps, and to one whose first packet is dropped.
 */
/** Of two, the kernel takes the even one as long as it is free. */
const PORTS = '40000 40001'
/** A time stamp is an older one with a probability of 1/2: that no server has one, 2⁻⁴⁰. */
const SERVERS = Array.from({ length: 40 }, (_, n) => `127.0.1.${n + 1}`)

execFileSync('ip', ['link', 'set', 'lo', 'up'])
setting('ip_local_port_range', PORTS)
const { port } = await servePod({ name: 'pod', ip: '0.0.0.0', port: 0 })
setting('tcp_timestamps', '1')
for (const server of SERVERS) await repeatsTo(server)
// Without the offset that each pair of addresses has.
setting('tcp_timestamps', '2')
const met = { lost: 0, metTimeWait: 0 }
for (const server of SERVERS) {
  const { lost, metTimeWait } = await repeatsTo(server)
  met.lost += lost
  met.metTimeWait += metTimeWait
}
const first = ['-m', 'statistic', '--mode', 'nth', '--every', '1000', '--packet', '0']
const syn = ['-A', 'INPUT', '-p', 'tcp', '--syn', ...first, '-j', 'DROP']
execFileSync('iptables', syn)
process.stdout.write(JSON.stringify({ met, dropped: await repeatsTo('127.0.2.1') }))
process.exit(0)

async function repeatsTo(server: string) {
  const answer = await sendRequest({ url: `http://${server}:${port}/`, timeoutMs: 10_000 })
  if (answer.kind !== 'answered') throw new Error(`${server}: ${JSON.stringify(answer)}`)
  return { lost: answer.lost, metTimeWait: answer.metTimeWait }
}

function setting(name: string, value: string): void {
  writeFileSync(`/proc/sys/net/ipv4/${name}`, value)
}
