import type { Command } from 'commander'
import type { CommandContext } from '../command/context.ts'
import { generates } from './generates.ts'

/** `orchctl create serviceaccount NAME`. */
export function defineServiceAccount(create: Command, context: CommandContext): void {
  const command = create
    .command('serviceaccount')
    .alias('sa')
    .description('Create a ServiceAccount.')
  generates(command, context, (name) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name },
  }))
}
