import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/context.ts'
import { LISTS } from '../kubeconfig/merged.ts'
import { documentText } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { mergedKubeconfig, noContext } from './read-contexts.ts'

interface ViewFlags {
  readonly minify?: boolean
  readonly raw?: boolean
  readonly output: string
}

/** `orchctl config view`. */
export async function view(
  _args: readonly string[],
  { minify = false, raw = false, output }: ViewFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const format = await outputFormat(output)
  if (format.type === 'table') throw usageError(`-o ${quote(output)}: write yaml or json`)
  const config = await mergedKubeconfig(context)
  const { context: wanted = stringAt(config, 'current-context') } = context.globals()
  const chosen = minify ? minified(config, wanted) : config
  const isTerminal = context.host.stdout.isTTY === true
  const document = raw ? chosen : (redacted(chosen) as JsonObject)
  context.print(await documentText(format, document, { isTerminal }))
  return 0
}

const SECRETS: ReadonlySet<string> = new Set([
  'token',
  'password',
  'client-secret',
  'id-token',
  'refresh-token',
  'access-token',
])

/** Secrets as REDACTED, data of files as DATA+OMITTED, values of variables of plugins as REDACTED. */
export function redacted(value: Json, key = ''): Json {
  if (Array.isArray(value)) return value.map((item) => redacted(item, key === 'env' ? 'env' : ''))
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([name, inner]) => {
      const isVariable = key === 'env' && name === 'value'
      return [name, isVariable ? 'REDACTED' : redacted(inner, name)] as const
    })
    return Object.fromEntries(entries)
  }
  if (typeof value !== 'string') return value
  if (SECRETS.has(key)) return 'REDACTED'
  return key.endsWith('-data') ? 'DATA+OMITTED' : value
}

function minified(config: JsonObject, name: string): JsonObject {
  const named = (list: string, wanted: string): Json[] =>
    arrayAt(config, list).filter((entry) => stringAt(entry, 'name') === wanted)
  const contexts = named('contexts', name)
  if (contexts.length === 0) throw noContext(name)
  const content = objectAt(contexts[0], LISTS.contexts)
  return {
    ...config,
    'current-context': name,
    contexts,
    clusters: named('clusters', stringAt(content, 'cluster')),
    users: named('users', stringAt(content, 'user')),
  }
}
