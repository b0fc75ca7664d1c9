import type { Option } from 'commander'
import type { CommandContext } from '../command/context.ts'
import { readKubeconfigFiles } from '../kubeconfig/kubeconfig-files.ts'
import { entryNames, type ListName, merged } from '../kubeconfig/merged.ts'
import { FORMATS } from '../output/output-format.ts'
import { objectNames, typeNames } from './server-names.ts'

/** What requests may do to resources. */
export const VERBS = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
] as const

/** Flags whose values are names of objects, with the type. */
const OBJECT_FLAGS: Readonly<Record<string, string>> = {
  '--namespace': 'namespaces',
  '--role': 'roles',
  '--clusterrole': 'clusterroles',
}

/** What the value of a flag may be; none: anything, such as a file. */
export async function flagValues(
  flag: Option,
  context: CommandContext,
): Promise<readonly string[]> {
  if (flag.argChoices !== undefined) return flag.argChoices
  const name = flag.long ?? ''
  const type = OBJECT_FLAGS[name]
  if (type !== undefined) return objectNames(type, context)
  switch (name) {
    case '--output':
      return formatsOf(flag)
    case '--context':
      return kubeconfigNames('contexts', context)
    case '--cluster':
      return kubeconfigNames('clusters', context)
    case '--from':
      return (await objectNames('pods', context)).map((pod) => `pod/${pod}`)
    case '--serviceaccount': {
      const { namespace } = await context.session()
      const accounts = await objectNames('serviceaccounts', context)
      return accounts.map((account) => `${namespace}:${account}`)
    }
    case '--verb':
      return VERBS
    case '--resource':
      return typeNames(context)
    default:
      return []
  }
}

/** The formats that the help of the flag names; all of them where it names none. */
function formatsOf({ description }: Option): readonly string[] {
  const all = FORMATS.split('|').map((format) => format.replace(/=.*/, '='))
  const named = all.filter((format) => description.includes(format))
  return named.length === 0 ? all : named
}

/** The entries of a list of the kubeconfig. */
export async function kubeconfigNames(
  list: ListName,
  context: CommandContext,
): Promise<readonly string[]> {
  const where = { flag: context.globals().kubeconfig, env: context.host.env }
  return entryNames(merged(await readKubeconfigFiles(where)), list)
}
