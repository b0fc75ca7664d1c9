import type { Command } from 'commander'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { setContext, useContext } from './change-contexts.ts'
import { currentContext, getContexts } from './read-contexts.ts'
import { view } from './view.ts'

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
