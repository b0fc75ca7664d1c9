import { execFileSync } from 'node:child_process'
import { openIptables } from '../../../src/kernel/iptables/command-iptables.ts'
import { decodeMessages } from '../../../src/kernel/netlink/message.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, type OpenTransport } from '../../../src/kernel/netlink/transport.ts'
import { authorship, ChainCollector } from '../../../src/kernel/nftables/generation-collector.ts'
import { NftablesMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import type { RuleChange } from '../../../src/kernel/nftables/rule-monitor.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const nat = (...lines: string[]) => `*nat\n${lines.join('\n')}\nCOMMIT\n`
const foreign = (command: string) => execFileSync('/bin/sh', ['-c', command])

/** The requests of the monitor that were sent and answered last, and what waits until they are the same. */
let [sent, answered] = [0, 0]
let settled = () => undefined as void

/** The socket of the monitor. Notifications of a few hundred changes are more than its buffer takes. */
const open: OpenTransport = (handlers) => {
  const transport = rawTransport(NETLINK_NETFILTER, { receive: 256 * 1024 })({
    onOverrun: () => handlers.onOverrun(),
    onDatagram(bytes) {
      const answers = [...decodeMessages(bytes)].filter(({ port }) => port === transport.port)
      answered = answers.at(-1)?.seq ?? answered
      handlers.onDatagram(bytes)
      if (answered === sent) settled()
    },
  })
  const send = (bytes: Buffer) => {
    for (const { seq } of decodeMessages(bytes)) sent = seq
    return transport.send(bytes)
  }
  return { ...transport, send }
}

const changes: RuleChange[] = []
let heard = () => undefined as void
const monitor = new NftablesMonitor(open, {
  clock: systemClock,
  authorship: authorship(),
  collector: new ChainCollector(),
})
monitor.start((change) => {
  changes.push(change)
  heard()
})
const runner = new Spawner()
const iptables = await openIptables({ runner, backend: 'nft' })
const steps: Record<string, unknown> = {}
/** What was reported although only the daemon changed something. */
const ofOurOwn: RuleChange[] = []

/** Does something and records the next change that is reported. */
async function reportOf(name: string, work: () => unknown): Promise<void> {
  const report = new Promise<void>((resolve) => {
    heard = resolve
  })
  ofOurOwn.push(...changes.splice(0))
  await work()
  await report
  steps[name] = changes.splice(0).map(({ touched, by }) => {
    return touched === 'unknown' ? touched : { touched, process: by?.process }
  })
}

/**
 * Waits until the monitor has settled: while its buffer is still full of our own notifications, those of others are
 * lost with them.
 */
async function restoreAsDaemon(
  text: string,
  options: { unsubscribed: boolean; meanwhile?: string },
): Promise<void> {
  const release = monitor.hold(options)
  const result = await iptables.restore(4, text)
  if (options.meanwhile !== undefined) foreign(options.meanwhile)
  const isSettled = new Promise<void>((resolve) => {
    settled = resolve
  })
  release({ authors: [result.pid], commits: result.commits })
  await isSettled
}

const keepAlive = setInterval(() => undefined, 1000)
const many = Array.from({ length: 1500 }, (_, i) => `:NP-${i} - [0:0]`)
const rules = many.flatMap((_, i) => [`-A NP-${i} -p tcp -j RETURN`, `-A NP-${i} -j RETURN`])
await restoreAsDaemon(nat(':NP-A - [0:0]', '-A NP-A -j RETURN'), { unsubscribed: false })
await reportOf('rule deleted', () => foreign('iptables-nft -t nat -D NP-A 1'))
await restoreAsDaemon(nat('-A NP-A -j RETURN'), { unsubscribed: false })
await restoreAsDaemon(nat(...many, ...rules), { unsubscribed: true })
await reportOf('after our own', () => foreign('iptables-nft -t nat -N NP-FOREIGN'))
await reportOf('during our own', () =>
  restoreAsDaemon(nat('-A NP-A -j ACCEPT'), {
    unsubscribed: false,
    meanwhile: 'iptables-nft -t nat -F NP-1',
  }),
)
await reportOf('while unsubscribed', () =>
  restoreAsDaemon(nat('-A NP-A -j DROP'), {
    unsubscribed: true,
    meanwhile: 'iptables-nft -t nat -F NP-2',
  }),
)
await reportOf('everything flushed', () => foreign('nft flush ruleset'))
await restoreAsDaemon(nat(...many, ...rules), { unsubscribed: false })
await restoreAsDaemon(nat(...many), { unsubscribed: false })
await reportOf('after our own overrun', () => foreign('ip6tables-nft -t filter -N NP-SIX'))
// Only that something happened is known.
await reportOf('an overrun by others', () =>
  execFileSync('iptables-nft-restore', ['--noflush'], { input: nat(...rules) }),
)
clearInterval(keepAlive)
await runner.close()
process.stdout.write(JSON.stringify({ ...steps, ofOurOwn }))
process.exit(0)
