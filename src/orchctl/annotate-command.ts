import type { Command } from 'commander'
import type { CommandContext } from './command/command-module.ts'
import { defineMapCommand } from './map-command.ts'

/** `orchctl annotate`. */
export function define(command: Command, context: CommandContext): void {
  defineMapCommand(command, context, { field: 'annotations', done: 'annotated' })
}
