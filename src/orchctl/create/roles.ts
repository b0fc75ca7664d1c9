import type { Command } from 'commander'
import type { Json } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { RBAC_GROUP } from '../../resources/api-groups.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { repeated } from '../usage/global-flags.ts'
import { generates } from './generates.ts'

interface RoleFlags {
  readonly verb?: readonly string[]
  readonly resource?: readonly string[]
  readonly resourceName?: readonly string[]
  readonly nonResourceUrl?: readonly string[]
}

/** `orchctl create role|clusterrole NAME`. */
export function defineRoles(create: Command, context: CommandContext): void {
  const role = create.command('role').description('Create a Role.')
  generates<RoleFlags>(addRuleFlags(role), context, roleBuilder('Role'))
  const clusterRole = create.command('clusterrole').description('Create a ClusterRole.')
  addRuleFlags(clusterRole).addOption(
    repeated('--non-resource-url <path>', 'a path such as /metrics'),
  )
  generates<RoleFlags>(clusterRole, context, roleBuilder('ClusterRole'))
}

function addRuleFlags(command: Command): Command {
  return command
    .addOption(repeated('--verb <verbs>', 'get,list,… or *; repeat for more'))
    .addOption(repeated('--resource <resources>', 'pods,deployments.apps,pods/log'))
    .addOption(repeated('--resource-name <names>', 'only the objects of these names'))
}

function roleBuilder(kind: 'Role' | 'ClusterRole') {
  return async (name: string, flags: RoleFlags, context: CommandContext) => ({
    apiVersion: `${RBAC_GROUP}/v1`,
    kind,
    metadata: { name },
    rules: await rulesOf(flags, context),
  })
}

/** One rule for the resources of each group, as kubectl writes them. */
async function rulesOf(flags: RoleFlags, context: CommandContext): Promise<Json[]> {
  const verbs = split(flags.verb)
  const urls = split(flags.nonResourceUrl)
  const resources = split(flags.resource)
  if (verbs.length === 0) throw usageError('--verb is missing', 'write --verb=get,list,watch')
  if (resources.length === 0 && urls.length === 0) {
    throw usageError('--resource is missing', 'write --resource=pods,deployments.apps')
  }
  if (resources.length > 0 && urls.length > 0) {
    throw usageError('--resource and --non-resource-url do not go together')
  }
  if (urls.length > 0) return [{ verbs, nonResourceURLs: urls }]
  const groups = new Map<string, string[]>()
  for (const text of resources) {
    const { group, resource } = await resourceOf(text, context)
    groups.set(group, [...(groups.get(group) ?? []), resource])
  }
  const resourceNames = split(flags.resourceName)
  return [...groups].map(([group, names]) => ({
    verbs,
    apiGroups: [group],
    resources: names,
    ...(resourceNames.length === 0 ? {} : { resourceNames }),
  }))
}

async function resourceOf(text: string, context: CommandContext) {
  const [type = '', ...rest] = text.split('/')
  const suffix = rest.length === 0 ? '' : `/${rest.join('/')}`
  if (type === '') throw usageError(`${quote(text)} is no resource`)
  if (type === '*') return { group: '*', resource: `*${suffix}` }
  const catalogue = await openCatalogue(context)
  const { group, plural } = await catalogue.named(type)
  return { group, resource: plural + suffix }
}

function split(values: readonly string[] | undefined): string[] {
  const all = (values ?? []).flatMap((value) => value.split(','))
  return [...new Set(all.map((value) => value.trim()).filter((value) => value !== ''))]
}

interface BindingFlags {
  readonly role?: string
  readonly clusterrole?: string
  readonly user?: readonly string[]
  readonly group?: readonly string[]
  readonly serviceaccount?: readonly string[]
}

/** `orchctl create rolebinding|clusterrolebinding NAME`. */
export function defineBindings(create: Command, context: CommandContext): void {
  const binding = create
    .command('rolebinding')
    .description('Create a RoleBinding.')
    .option('--role <name>', 'the Role that is given')
  addSubjectFlags(binding)
  generates<BindingFlags>(binding, context, bindingBuilder('RoleBinding'))
  const clusterBinding = create
    .command('clusterrolebinding')
    .description('Create a ClusterRoleBinding.')
  addSubjectFlags(clusterBinding)
  generates<BindingFlags>(clusterBinding, context, bindingBuilder('ClusterRoleBinding'))
}

function addSubjectFlags(command: Command): void {
  command
    .option('--clusterrole <name>', 'the ClusterRole that is given')
    .addOption(repeated('--user <name>', 'a user who gets it; repeat for more'))
    .addOption(repeated('--group <name>', 'a group that gets it; repeat for more'))
    .addOption(
      repeated('--serviceaccount <namespace:name>', 'an account that gets it; repeat for more'),
    )
}

function bindingBuilder(kind: 'RoleBinding' | 'ClusterRoleBinding') {
  return (name: string, flags: BindingFlags) => {
    const { role, clusterrole } = flags
    if ((role === undefined) === (clusterrole === undefined)) {
      const wanted = kind === 'RoleBinding' ? '--role or --clusterrole' : '--clusterrole'
      throw usageError(`a ${kind} needs ${wanted}`)
    }
    const roleKind = role === undefined ? 'ClusterRole' : 'Role'
    return {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind,
      metadata: { name },
      roleRef: { apiGroup: RBAC_GROUP, kind: roleKind, name: role ?? clusterrole ?? '' },
      subjects: subjectsOf(flags),
    }
  }
}

function subjectsOf(flags: BindingFlags) {
  return [
    ...(flags.user ?? []).map((name) => ({ apiGroup: RBAC_GROUP, kind: 'User', name })),
    ...(flags.group ?? []).map((name) => ({ apiGroup: RBAC_GROUP, kind: 'Group', name })),
    ...(flags.serviceaccount ?? []).map((text) => {
      const [namespace = '', name = '', ...rest] = text.split(':')
      if (namespace === '' || name === '' || rest.length > 0) {
        throw usageError(`--serviceaccount ${quote(text)} is not NAMESPACE:NAME`)
      }
      return { kind: 'ServiceAccount', name, namespace }
    }),
  ]
}
