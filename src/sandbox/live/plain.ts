import { once } from 'node:events'
import { commandsByHand } from './screen/by-hand-lines.ts'
import { requestLine } from './screen/screen.ts'
import type { Show } from './show.ts'
import { startStream } from './stream.ts'

/** Without a terminal: what there is, what to try, then every request on a line of its own. */
export async function showPlain({ sandbox, model, until }: Show): Promise<void> {
  const view = model.view()
  const commands = commandsByHand(view)
  print([`try, ${view.terminal}`, ...commands.map((command) => `  ${command}`), ''])
  const stop = startStream(sandbox, (asked) => {
    model.tally.add(asked)
    print([requestLine(asked).reduce((line, { text }) => line + text, '')])
  })
  if (!until.aborted) await once(until, 'abort')
  stop()
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}
