import type { Command } from 'commander'
import type { CommandContext } from '../command/context.ts'
import { generates } from './generates.ts'

/** `orchctl create namespace NAME`. */
export function defineNamespace(create: Command, context: CommandContext): void {
  const command = create.command('namespace').alias('ns').description('Create a Namespace.')
  generates(command, context, (name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }))
}
