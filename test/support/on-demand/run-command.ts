const INTERRUPTED = 130

export interface OnDemand {
  /** The prefix of its output lines. */
  readonly who: string
  readonly timeoutMs: number
  /** Returns the exit status of the tests; `signal` ends them early. */
  run(args: readonly string[], signal: AbortSignal): Promise<number>
}

/** A command such as `npm run test:docker [-- FILTER…]`: its exit status, once it is done. */
export async function runOnDemand({ who, timeoutMs, run }: OnDemand): Promise<number> {
  const say = (what: string): void => void process.stderr.write(`${who}: ${what}\n`)
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => stopping.abort())
  }
  const late = setTimeout(() => {
    say(`not done after ${timeoutMs / 60_000} minutes`)
    stopping.abort()
  }, timeoutMs)
  let status = 1
  try {
    status = await run(process.argv.slice(2), stopping.signal)
  } catch (error) {
    if (!stopping.signal.aborted) say(error instanceof Error ? error.message : String(error))
  } finally {
    clearTimeout(late)
  }
  if (stopping.signal.aborted) status = INTERRUPTED
  say(stopping.signal.aborted ? 'interrupted' : status === 0 ? 'passed' : 'FAILED')
  return status
}
