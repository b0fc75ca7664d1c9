import type { Run } from './run.ts'

/** A summary of a run in one line. */
export function summaryOf({ seed, operations, lists, watches, outages }: Run): string {
  const results = Map.groupBy(
    operations,
    ({ input, answer }) => `${input.verb} ${answer?.output.result ?? 'unanswered'}`,
  )
  const counts = [...results].map(([what, all]) => `${what} ${all.length}`).sort()
  const lines = watches.map(({ watcher, lines }) => `${watcher} ${lines.length}`)
  const times = outages.map(Math.round).sort((a, b) => a - b)
  return [
    `seed ${seed}`,
    [...counts, `lists ${lists.length}`].join(', '),
    `lines: ${lines.join(', ')}`,
    `outages of clients: median ${times[times.length >> 1] ?? 0} ms, longest ${times.at(-1) ?? 0} ms`,
  ].join('; ')
}
