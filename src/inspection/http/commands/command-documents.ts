import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { OneAtATime } from './one-at-a-time.ts'
import type { CommandOutput, RunCommand } from './run-launcher.ts'

/** Commands that may wait or run. */
const MAX_COMMANDS = 8

/** Exit codes of commands, and the status codes of HTTP for them. */
const STATUSES: ReadonlyMap<number | undefined, number> = new Map([
  [1, 422],
  [2, 400],
  [3, 503],
])

/** The JSON that a command printed, or why there is none and the status code for that. */
export type CommandDocument =
  | { readonly json: string }
  | { readonly error: NodeProxyError; readonly status: number }

/** Runs a command of node-proxy for its JSON; see `commandDocuments`. */
export type ReadDocument = (words: readonly string[]) => Promise<CommandDocument>

/** Runs commands one at a time; equal ones that wait or run are run once. */
export function commandDocuments(run: RunCommand): ReadDocument {
  const commands = new OneAtATime<CommandDocument>(MAX_COMMANDS)
  return async (words) => {
    const found = commands.run(JSON.stringify(words), async () => documentOf(await run(words)))
    return found ?? { error: busy(), status: 503 }
  }
}

/** Exit code 1 with a document: the document shows what is wrong. */
function documentOf({ code, stdout, stderr }: CommandOutput): CommandDocument {
  const json = stdout.trim()
  if ((code === 0 || code === 1) && json.startsWith('{')) return { json }
  return { error: errorOf(stderr), status: STATUSES.get(code) ?? 500 }
}

/** Commands end their errors with the code: `node-proxy: message; remedy (NP_…)`. */
function errorOf(stderr: string): NodeProxyError {
  const [, message, code] = /^node-proxy: (.*) \((NP_[A-Z0-9_]+)\)$/m.exec(stderr) ?? []
  if (message !== undefined && code !== undefined) return new NodeProxyError(code, message)
  return new NodeProxyError('NP_INSPECTION_COMMAND', `the command failed: ${quote(stderr)}`, {
    hint: 'run the same command of node-proxy on the node',
  })
}

function busy(): NodeProxyError {
  return new NodeProxyError('NP_INSPECTION_BUSY', `${MAX_COMMANDS} other commands wait or run`, {
    hint: 'try again when they have ended',
  })
}
