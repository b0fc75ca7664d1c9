import type { Command } from 'commander'
import { quote } from '../lib/quote.ts'
import { yieldToEventLoop } from '../lib/yield-to-event-loop.ts'
import { API_SERVICE_NAMESPACE, podEnvironment } from '../resources/pod-environment.ts'
import { type CommandContext, runs } from './command/command-module.ts'
import { type ExitCode, usageError } from './command/exit-code.ts'
import { collectionPath, objectPath } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { selectedObject } from './discovery/selected.ts'
import { jsonText } from './output/documents.ts'
import { oneLine } from './output/terminal-text.ts'
import { listObjects } from './session/list-pages.ts'

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
  runs<{ readonly output?: string }>(command, context, environment)
}

async function environment(
  args: readonly string[],
  { output }: { readonly output?: string },
  context: CommandContext,
): Promise<ExitCode> {
  if (output !== undefined && output !== 'json') {
    throw usageError(`-o ${quote(output)} is no output format`, 'write json')
  }
  const catalogue = await openCatalogue(context)
  const words = args.length === 1 && !args[0]?.includes('/') ? ['pods', ...args] : args
  const { resource, name } = await selectedObject(words, catalogue)
  if (resource.kind !== 'Pod' || resource.group !== '') {
    throw usageError(`${quote(resource.kind)} has no environment`, 'write env pod/NAME')
  }
  const { api, namespace } = await context.session()
  const services = await catalogue.named('services')
  const pod = await api.send({ path: objectPath(resource, namespace, name) })
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
