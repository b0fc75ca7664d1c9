import type { Command } from 'commander'
import { quote } from '../lib/quote.ts'
import { yieldToEventLoop } from '../lib/yield-to-event-loop.ts'
import { API_SERVICE_NAMESPACE, podEnvironment } from '../resources/pod-environment.ts'
import { collectionPath } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { podOf } from './discovery/pods-of.ts'
import { jsonText } from './output/documents.ts'
import { formatAmong } from './output/output-format.ts'
import { oneLine } from './output/terminal-text.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { listObjects } from './session/list-pages.ts'
import { usageError } from './usage/exit-code.ts'

const ABOUT = `
A container gets these variables when it starts. Services that were created or changed
later are in the list, but not in the environment of a container that runs.
`

/** `orchctl env pod/NAME`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<pod...>', 'pod/NAME')
    .option('-o, --output <format>', 'json')
    .addHelpText('after', ABOUT)
  runs(command, context, environment)
}

const environment: Run<{ readonly output?: string }> = async (args, { output }, context) => {
  formatAmong(output, 'json')
  const pod = await podOf(args, context, (kind) =>
    usageError(`${quote(kind)} has no environment`, 'write env pod/NAME'),
  )
  const { api, namespace } = await context.session()
  const services = await (await openCatalogue(context)).named('services')
  const namespaces = [...new Set([namespace, API_SERVICE_NAMESPACE])]
  const lists = await Promise.all(
    namespaces.map((one) => listObjects(api, { path: collectionPath(services, one) })),
  )
  const variables = await yieldToEventLoop(podEnvironment(pod, lists.flat()))
  if (output === 'json') {
    const document = Object.fromEntries(variables.map((one) => [one.name, one.value]))
    context.print(jsonText(document, { isTerminal: true }))
    return 0
  }
  const lines = variables.map((one) => `${oneLine(`${one.name}=${one.value}`)}\n`)
  context.print(lines.sort().join(''))
  return 0
}
