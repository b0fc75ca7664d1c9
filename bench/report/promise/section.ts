import { median, spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { Figure, Other, PromiseResults } from './results.ts'

/** The figures that users care about, as the first part of the page. */
export function promiseSection(results: PromiseResults): string {
  const { machine, startedAt, quick, busyPercent, tookSeconds, figures } = results
  const { cores, kernel, node, iptables, haproxy, kubernetes } = machine
  const warning = quick ? '\n**A quick run: too few repetitions to be quoted.**\n' : ''
  const judged = figures.flatMap((figure) => timesBetter(figure) ?? [])
  const won = judged.filter((times) => times >= 1).length
  return `## The promise
${warning}
What users care about, beside what others need for the same in the same run. node-proxy is measured as the image runs it, in
nftables mode unless stated. *Times better*: the peer's median divided by ours, or ours divided by the peer's where more is better.
${won} of ${judged.length} are at least as good as the peer's.

${figuresTable(figures)}

${startedAt}; ${cores} cores, Linux ${kernel}, Node ${node}, iptables ${iptables} (nft), HAProxy ${haproxy}, Kubernetes ${kubernetes}; it took
${Math.round(tookSeconds / 60)} minutes. Before, the machine was ${busyPercent.toFixed(0)} % busy with other things.
`
}

function figuresTable(figures: readonly Figure[]): string {
  const other = ({ digits }: Figure, one: Other | undefined) =>
    one && `${one.name}: ${spread(one.samples, digits)}`
  return table(figures, [
    ['figure', ({ what, unit }) => `${what}, ${unit}`],
    ['', ({ better }) => `${better} is better`],
    ['ours', ({ ours, digits }) => spread(ours, digits)],
    ['iptables mode', ({ iptables, digits }) => iptables && spread(iptables, digits)],
    ['peer', (figure) => other(figure, figure.peer)],
    ['limit', (figure) => other(figure, figure.limit)],
    ['times better', (figure) => timesBetter(figure)?.toFixed(2)],
  ])
}

/** Undefined without a peer. */
function timesBetter({ better, ours, peer }: Figure): number | undefined {
  if (peer === undefined) return undefined
  const [mine, theirs] = [median(ours), median(peer.samples)]
  return better === 'less' ? theirs / mine : mine / theirs
}
