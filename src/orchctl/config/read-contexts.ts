import { NodeProxyError } from '../../lib/error.ts'
import { stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/context.ts'
import { readKubeconfigFiles } from '../kubeconfig/kubeconfig-files.ts'
import { entryNames, entryOf, merged } from '../kubeconfig/merged.ts'
import { columns } from '../output/columns.ts'
import { jsonText } from '../output/documents.ts'
import { oneLine } from '../output/terminal-text.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'

/** The kubeconfig that the flags and the environment name, all files in one. */
export async function mergedKubeconfig(context: CommandContext) {
  const where = { flag: context.globals().kubeconfig, env: context.host.env }
  return merged(await readKubeconfigFiles(where))
}

/** `orchctl config current-context`. */
export async function currentContext(
  _args: readonly string[],
  _flags: object,
  context: CommandContext,
): Promise<ExitCode> {
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
export async function getContexts(
  [wanted]: readonly string[],
  { output, headers }: ListFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const config = await mergedKubeconfig(context)
  const all = [...entryNames(config, 'contexts')].sort()
  if (wanted !== undefined && !all.includes(wanted)) throw noContext(wanted)
  const names = wanted === undefined ? all : [wanted]
  const current = stringAt(config, 'current-context')
  const contexts = names.map((name) => {
    const entry = entryOf(config, 'contexts', name) ?? {}
    const { cluster = '', user = '', namespace = '' } = entry
    return { name, cluster, user, namespace, current: name === current }
  })
  switch (output) {
    case 'name':
      context.print(names.map((name) => `${oneLine(name)}\n`).join(''))
      return 0
    case 'json':
      context.print(jsonText(contexts, { isTerminal: true }))
      return 0
    case undefined:
      break
    default:
      throw usageError(`-o ${quote(output)} is no output format`, 'write name or json')
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
export function noContext(name: string): NodeProxyError {
  return new NodeProxyError(
    'NP_ORCHCTL_KUBECONFIG',
    `the kubeconfig has no context ${quote(name)}`,
    {
      hint: 'orchctl config get-contexts lists all',
    },
  )
}
