import { spawnSync } from 'node:child_process'
import { hostPort } from '../../../src/lib/ip.ts'
import { writeSysctls } from '../../lab/namespace.ts'
import type { ProxySetup, Subject } from './subject.ts'

/** Makes reset connections leave the conntrack table soon. */
const FORGETFUL = { 'net/netfilter/nf_conntrack_tcp_timeout_close': 1 } as const

/** What the iptables mode does to a packet, as a single rule. */
export const dnat: Subject = {
  name: 'dnat',
  async start(setup) {
    rule('-A', setup)
    writeSysctls(setup.node, FORGETFUL)
    return {
      address: setup.listen,
      pids: [],
      async stop() {
        rule('-D', setup)
      },
    }
  },
}

function rule(act: '-A' | '-D', { node, listen, backend }: ProxySetup): void {
  const match = ['-d', listen.ip, '-p', 'tcp', '--dport', String(listen.port)]
  const to = hostPort(backend.ip, backend.port)
  const words = ['-w', '-t', 'nat', act, 'PREROUTING', ...match, '-j', 'DNAT', '--to', to]
  const done = spawnSync('ip', ['netns', 'exec', node, 'iptables', ...words], { encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`iptables: ${done.stderr.trim()}`)
}
