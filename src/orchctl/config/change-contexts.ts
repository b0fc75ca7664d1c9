import { mkdir, realpath, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Document } from 'yaml'
import { NodeProxyError } from '../../lib/error.ts'
import { arrayAt, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import {
  type KubeconfigFile,
  newKubeconfigPath,
  readKubeconfigFiles,
} from '../kubeconfig/kubeconfig-files.ts'
import { entryNames, merged } from '../kubeconfig/merged.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { noContext } from './read-contexts.ts'

/** `orchctl config use-context NAME`. */
export async function useContext(
  [name = '']: readonly string[],
  _flags: object,
  context: CommandContext,
): Promise<ExitCode> {
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
export async function setContext(
  [given]: readonly string[],
  { current = false, cluster, user }: SetFlags,
  context: CommandContext,
): Promise<ExitCode> {
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

/** Replaces the file at once, for this user alone, because it may have secrets. Comments stay. */
async function write(path: string, document: Document): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const target = await realpath(path).catch(() => path)
    const temporary = `${target}.${process.pid}`
    await writeFile(temporary, document.toString({ lineWidth: 0 }), { mode: 0o600 })
    await rename(temporary, target)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
    const message = `the kubeconfig ${JSON.stringify(path)} cannot be written: ${code}`
    throw new NodeProxyError('NP_ORCHCTL_KUBECONFIG', message, {
      hint: 'make the file and its folder writable for this user',
    })
  }
}
