import { type Command, Option } from 'commander'
import { quote } from '../../lib/quote.ts'
import { RBAC_GROUP } from '../../resources/api-groups.ts'
import type { CommandContext } from '../command/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { collect } from '../usage/global-flags.ts'
import { generates } from './generates.ts'

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
  generates<BindingFlags>(binding, context, build('RoleBinding'))
  const clusterBinding = create
    .command('clusterrolebinding')
    .description('Create a ClusterRoleBinding.')
  addSubjectFlags(clusterBinding)
  generates<BindingFlags>(clusterBinding, context, build('ClusterRoleBinding'))
}

function addSubjectFlags(command: Command): void {
  const repeated = (flags: string, doc: string): Option => new Option(flags, doc).argParser(collect)
  command
    .option('--clusterrole <name>', 'the ClusterRole that is given')
    .addOption(repeated('--user <name>', 'a user who gets it; repeat for more'))
    .addOption(repeated('--group <name>', 'a group that gets it; repeat for more'))
    .addOption(
      repeated('--serviceaccount <namespace:name>', 'an account that gets it; repeat for more'),
    )
}

function build(kind: 'RoleBinding' | 'ClusterRoleBinding') {
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
