import { execFileSync } from 'node:child_process'
import type { FlowChoice, FlowProtocol } from '../../../src/kernel/conntrack/conntrack.ts'
import { NetlinkConntrack } from '../../../src/kernel/conntrack/netlink-conntrack.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type IpAddress, parseIp } from '../../../src/lib/ip.ts'

const flow = (
  protocol: string,
  from: string,
  to: string,
  backend: string,
  ports: readonly number[],
) =>
  `-I -p ${protocol} -s ${from} -d ${to} --sport ${ports[0]} --dport ${ports[1]} -r ${backend} ` +
  `-q ${from} --reply-port-src ${ports[2]} --reply-port-dst ${ports[0]} -t 600` +
  (protocol === 'tcp' ? ' --state ESTABLISHED' : '')

/** A TCP connection whose destination the kernel translates. */
const translated = (port: number, to: string, more = '--state SYN_SENT') =>
  `-I -p tcp -s 10.0.0.1 -d 10.96.0.10 --sport ${port} --dport 53 --dst-nat ${to} -t 600 ${more}`

const lines = Array.from({ length: 2000 }, (_, i) =>
  flow('udp', `10.0.${i >> 8}.${i & 255}`, '10.96.0.10', `10.1.0.${4 + (i % 2)}`, [
    5000 + i,
    53,
    5353,
  ]),
)
lines.push(
  flow('udp', '10.0.0.1', '10.96.0.11', '10.1.0.4', [7000, 53, 5353]),
  translated(7000, '10.1.0.4:5353'),
  translated(7003, '10.1.0.5:5353'),
  translated(7004, '10.1.0.4:5353', '--state ESTABLISHED -u SEEN_REPLY'),
  flow('tcp', '10.0.0.1', '10.96.0.10', '10.96.0.10', [7005, 53, 53]),
  flow('udp', '10.0.0.1', '192.0.2.1', '10.1.0.4', [7002, 30_053, 5353]),
  flow('udp', '10.0.0.2', '192.0.2.1', '192.0.2.1', [7000, 30_053, 30_053]),
  flow('udp', 'fd00::1', 'fd00::10', 'fd00::4', [7000, 53, 5353]),
  flow('udp', 'fd00::1', 'fd00::10', 'fd00::5', [7001, 53, 5353]),
)
execFileSync('/bin/sh', ['-c', 'cat | conntrack -R -'], { input: `${lines.join('\n')}\n` })

const conntrack = new NetlinkConntrack(rawTransport(NETLINK_NETFILTER), systemClock)
const ip = (text: string) => parseIp(text) as IpAddress
const listed = (family: string) =>
  execFileSync('conntrack', ['-L', '-f', family], { stdio: 'pipe' }).toString().trim().split('\n')

const udp = { family: 4, protocol: 'UDP', port: 53, keep: new Set(['10.1.0.5:5353']) } as const
const steps = {
  cut: await conntrack.cut([{ ...udp, ip: ip('10.96.0.10') }]),
  again: await conntrack.cut([{ ...udp, ip: ip('10.96.0.10') }]),
  left: listed('ipv4').length,
  several: await conntrack.cut([
    { ...udp, ip: ip('10.96.0.10'), keep: new Set() },
    { ...udp, ip: 'node', port: 30_053, keep: new Set() },
    { family: 6, protocol: 'UDP', ip: ip('fd00::10'), port: 53, keep: new Set(['[fd00::5]:5353']) },
  ]),
  tcp: await conntrack.cut([{ ...udp, protocol: 'TCP', ip: ip('10.96.0.10') }]),
  rest: [...listed('ipv4'), ...listed('ipv6')].map((line) =>
    /dst=(\S+) sport=(\d+)/.exec(line)?.slice(1),
  ),
}
execFileSync('/bin/sh', ['-c', 'cat | conntrack -R -'], {
  input: [
    flow('udp', '10.0.0.3', '10.96.0.11', '10.96.0.11', [7000, 53, 10_270]),
    flow('tcp', '10.0.0.3', '10.96.0.11', '10.96.0.11', [7000, 53, 10_271]),
    flow('tcp', '10.0.0.3', '10.96.0.11', '10.96.0.11', [7001, 10_270, 10_270]),
    `${flow('tcp', '10.0.0.3', '10.96.0.11', '10.96.0.11', [7002, 53, 10_270])} -u SEEN_REPLY`,
  ].join('\n'),
})
const ledBy = async (protocols: readonly FlowProtocol[], which?: FlowChoice) => {
  await conntrack.cutTranslatedTo(new Set([10_270, 10_271]), protocols, which)
  return listed('ipv4').filter((line) => line.includes('src=10.0.0.3')).length
}
const led = {
  udp: await ledBy(['UDP']),
  unanswered: await ledBy(['TCP'], 'unanswered'),
  both: await ledBy(['TCP', 'UDP']),
}
process.stdout.write(JSON.stringify({ ...steps, led }))
conntrack.close()
