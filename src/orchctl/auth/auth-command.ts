import type { Command } from 'commander'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { canI } from './can-i.ts'
import { whoAmI } from './who-am-i.ts'

const EXAMPLES = `
Prints yes or no; exit code 0 means yes, 1 no.

Examples:
  orchctl auth can-i list pods -n team
  orchctl auth can-i get secrets/db --as=system:serviceaccount:team:robot
  orchctl auth can-i create serviceaccounts --subresource=token
  orchctl auth can-i get /metrics
  orchctl auth can-i --list
`

/** `orchctl auth`. */
export function define(command: Command, context: CommandContext): void {
  const check = command
    .command('can-i')
    .description('Check whether a request is allowed.')
    .argument('[verb]', 'get, list, watch, create, update, patch, delete, …')
    .argument('[resource]', 'TYPE, TYPE/NAME, or a path such as /metrics')
    .argument('[name]')
    .option('--subresource <name>', 'such as log, token or status')
    .option('--list', 'all that is allowed in the namespace')
    .option('-A, --all-namespaces', 'check it for all namespaces')
    .option('-q, --quiet', 'print nothing; the exit code is the answer')
    .option('-o, --output <format>', 'json: the answer of the server')
    .option('--no-headers', 'with --list: no line with the names of the columns')
    .addHelpText('after', EXAMPLES)
  runs(check, context, canI)
  const who = command
    .command('whoami')
    .description('Show as whom the server knows the user.')
    .option('-o, --output <format>', 'json|yaml|jsonpath=TEMPLATE')
  runs(who, context, whoAmI)
}
