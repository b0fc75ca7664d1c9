import type { Command } from 'commander'
import type { CommandContext } from './command/command-module.ts'
import { defineMapCommand } from './map-command.ts'

/** `orchctl label`. */
export function define(command: Command, context: CommandContext): void {
  defineMapCommand(command, context, { field: 'labels', done: 'labeled' })
}
