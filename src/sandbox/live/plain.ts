import { once } from 'node:events'
import type { Sandbox } from '../environment/sandbox.ts'
import type { Model } from './model.ts'
import { commandsByHand } from './screen/by-hand-lines.ts'
import { requestLine } from './screen/screen.ts'
import { startStream } from './stream.ts'

/** What a display of the sandbox needs. */
export interface Display {
  readonly sandbox: Sandbox
  readonly model: Model
  /** Shown until this is aborted. */
  readonly until: AbortSignal
  readonly quit: () => void
}

/** Without a terminal: what there is, what to try, then every request on a line of its own. */
export async function showPlain({ sandbox, model, until }: Display): Promise<void> {
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
