import { mkdir, realpath, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import type { Document } from 'yaml'
import { NodeProxyError, systemCode } from '../lib/error.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { jsonText, printDocument } from './output/documents.ts'
import { formatAmong, outputFormat } from './output/output-format.ts'
import { columns } from './output/server-table.ts'
import { oneLine } from './output/terminal-text.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import {
  entryNames,
  entryOf,
  type KubeconfigFile,
  LISTS,
  merged,
  newKubeconfigPath,
  readKubeconfigFiles,
} from './session/kubeconfig.ts'
import { usageError } from './usage/exit-code.ts'

const SECRETS: ReadonlySet<string> = new Set([
  'token',
  'password',
  'client-secret',
  'id-token',
  'refresh-token',
  'access-token',
])

/** `orchctl config`. */
export function define(command: Command, context: CommandContext): void {
  const current = command
    .command('current-context')
    .description('Show the name of the current context.')
  runs(current, context, currentContext)
  const list = command
    .command('get-contexts')
    .description('List the contexts of the kubeconfig.')
    .argument('[name]')
    .option('-o, --output <format>', 'name: the names alone; json')
    .option('--no-headers', 'no line with the names of the columns')
  runs(list, context, getContexts)
  const use = command
    .command('use-context')
    .description('Make another context the current one.')
    .argument('<name>')
  runs(use, context, useContext)
  const set = command
    .command('set-context')
    .description('Make a context, or change its cluster, user or --namespace.')
    .argument('[name]')
    .option('--current', 'change the current context')
    .option('--cluster <name>', 'its cluster')
    .option('--user <name>', 'its user')
  runs(set, context, setContext)
  const shown = command
    .command('view')
    .description('Show the kubeconfig, with all its files in one; secrets are hidden.')
    .option('--minify', 'the current context alone')
    .option('--raw', 'with secrets')
    .option('-o, --output <format>', 'yaml|json|jsonpath=TEMPLATE', 'yaml')
  runs(shown, context, view)
}

interface ViewFlags {
  readonly minify?: boolean
  readonly raw?: boolean
  readonly output: string
}

/** `orchctl config view`. */
const view: Run<ViewFlags> = async (_args, { minify = false, raw = false, output }, context) => {
  const format = await outputFormat(output)
  if (format.type === 'table') throw usageError(`-o ${quote(output)}: write yaml or json`)
  const config = await mergedKubeconfig(context)
  const { context: wanted = stringAt(config, 'current-context') } = context.globals()
  const chosen = minify ? minified(config, wanted) : config
  await printDocument(format, raw ? chosen : (redacted(chosen) as JsonObject), context)
  return 0
}

/** Secrets as REDACTED, data of files as DATA+OMITTED, values of variables of plugins as REDACTED. */
function redacted(value: Json, key = ''): Json {
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

/** `orchctl config use-context NAME`. */
const useContext: Run<object> = async ([name = ''], _flags, context) => {
  const files = await filesOf(context)
  if (!entryNames(merged(files), 'contexts').includes(name)) throw noContext(name)
  const holder = files.find(({ value }) => stringAt(value, 'current-context') !== '') ?? files[0]
  if (holder === undefined) throw noContext(name)
  holder.document.set('current-context', name)
  await write(holder.path, holder.document)
  context.print(`Switched to context ${JSON.stringify(name)}.\n`)
  return 0
}

interface SetFlags {
  readonly current?: boolean
  readonly cluster?: string
  readonly user?: string
}

/** `orchctl config set-context NAME|--current [--cluster=] [--user=] [--namespace=]`. */
const setContext: Run<SetFlags> = async ([given], { current = false, cluster, user }, context) => {
  const files = await filesOf(context)
  const name = current ? stringAt(merged(files), 'current-context') : (given ?? '')
  if (name === '' || (current && given !== undefined)) {
    throw usageError('name one context', 'write set-context NAME, or set-context --current')
  }
  const { namespace } = context.globals()
  const fields = Object.entries({ cluster, user, namespace }).filter(
    ([, text]) => text !== undefined,
  )
  const holder = files.find((file) => indexOf(file, name) >= 0)
  const file = holder ?? files[0] ?? (await emptyFile(context))
  const { document } = file
  const found = indexOf(file, name)
  const index = found >= 0 ? found : arrayAt(file.value, 'contexts').length
  if (found < 0) document.setIn(['contexts', index], document.createNode({ name, context: {} }))
  for (const [field, text] of fields) document.setIn(['contexts', index, 'context', field], text)
  await write(file.path, document)
  context.print(`Context ${JSON.stringify(name)} ${found >= 0 ? 'modified' : 'created'}.\n`)
  return 0
}

function indexOf({ value }: KubeconfigFile, name: string): number {
  return arrayAt(value, 'contexts').findIndex((entry) => stringAt(entry, 'name') === name)
}

function filesOf(context: CommandContext): Promise<readonly KubeconfigFile[]> {
  return readKubeconfigFiles({ flag: context.globals().kubeconfig, env: context.host.env })
}

async function emptyFile(context: CommandContext): Promise<KubeconfigFile> {
  const path = newKubeconfigPath({ flag: undefined, env: context.host.env })
  if (path === undefined) throw usageError('there is no kubeconfig', 'give --kubeconfig')
  const { Document } = await import('yaml')
  const value = { apiVersion: 'v1', kind: 'Config', clusters: [], contexts: [], users: [] }
  return { path, value, document: new Document(value) }
}

/** Replaces the file atomically, readable by this user only, because it may hold secrets. Keeps comments. */
async function write(path: string, document: Document): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const target = await realpath(path).catch(() => path)
    const temporary = `${target}.${process.pid}`
    await writeFile(temporary, document.toString({ lineWidth: 0 }), { mode: 0o600 })
    await rename(temporary, target)
  } catch (cause) {
    const code = systemCode(cause)
    const message = `the kubeconfig ${JSON.stringify(path)} cannot be written: ${code}`
    throw new NodeProxyError('NP_ORCHCTL_KUBECONFIG', message, {
      hint: 'make the file and its folder writable for this user',
    })
  }
}

/** The kubeconfig that the flags and the environment name, all files in one. */
async function mergedKubeconfig(context: CommandContext) {
  return merged(await filesOf(context))
}

/** `orchctl config current-context`. */
const currentContext: Run<object> = async (_args, _flags, context) => {
  const name = stringAt(await mergedKubeconfig(context), 'current-context')
  if (name === '') {
    throw new NodeProxyError('NP_ORCHCTL_KUBECONFIG', 'the kubeconfig has no current context', {
      hint: 'orchctl config use-context NAME sets it',
    })
  }
  context.print(`${oneLine(name)}\n`)
  return 0
}

interface ListFlags {
  readonly output?: string
  readonly headers: boolean
}

/** `orchctl config get-contexts`. */
const getContexts: Run<ListFlags> = async ([wanted], { output, headers }, context) => {
  const config = await mergedKubeconfig(context)
  const all = [...entryNames(config, 'contexts')].sort()
  if (wanted !== undefined && !all.includes(wanted)) throw noContext(wanted)
  const names = wanted === undefined ? all : [wanted]
  const current = stringAt(config, 'current-context')
  const format = formatAmong(output, 'name', 'json')
  const contexts = names.map((name) => {
    const entry = entryOf(config, 'contexts', name) ?? {}
    const { cluster = '', user = '', namespace = '' } = entry
    return { name, cluster, user, namespace, current: name === current }
  })
  if (format === 'name' || format === 'json') {
    const lines = names.map((name) => `${oneLine(name)}\n`).join('')
    context.print(format === 'name' ? lines : jsonText(contexts, { isTerminal: true }))
    return 0
  }
  const rows = contexts.map((one) => [
    one.current ? '*' : '',
    ...[one.name, one.cluster, one.user, one.namespace].map(String),
  ])
  const header = headers ? [['CURRENT', 'NAME', 'CLUSTER', 'AUTHINFO', 'NAMESPACE']] : []
  context.print(columns([...header, ...rows]))
  return 0
}

/** The error for a context that no file has. */
function noContext(name: string): NodeProxyError {
  const message = `the kubeconfig has no context ${quote(name)}`
  const hint = 'orchctl config get-contexts lists all'
  return new NodeProxyError('NP_ORCHCTL_KUBECONFIG', message, { hint })
}
