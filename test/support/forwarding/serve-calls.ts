import type { Call, CallTable, Saying } from './remote.ts'

/** Runs the calls of the parent process concurrently, and ends when the parent ends. */
export function serveCalls(calls: object): void {
  const table = calls as CallTable
  process.on('message', (call: Call) => void answer(table, call))
  process.on('disconnect', () => process.exit())
  say({ kind: 'ready' })
}

/** Sends the parent a message that it did not request. */
export function sendNews(news: unknown): void {
  say({ kind: 'news', news })
}

async function answer(table: CallTable, { number, name, argument }: Call): Promise<void> {
  try {
    const result = await table[name]?.(argument as never)
    say({ kind: 'answer', number, result })
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    say({ kind: 'failure', number, reason })
  }
}

function say(saying: Saying): void {
  process.send?.(saying)
}
