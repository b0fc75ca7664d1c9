import type { Command } from 'commander'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { type ApiResource, collectionPath, objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { severalLines } from '../output/terminal-text.ts'
import { listObjects } from '../reading/list-pages.ts'
import { namespaceOf, type ScopeFlags, selectorQuery } from '../reading/scope.ts'
import { type Selected, selectedBy } from '../selection/selected.ts'
import { failureError } from '../session/call-failure.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { endpointsText } from './endpoints-text.ts'
import { eventsText } from './events-text.ts'
import { objectText } from './object-text.ts'

interface DescribeFlags extends ScopeFlags {
  readonly showEvents: boolean
}

/** `orchctl describe`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('[operands...]', 'TYPE [NAME...], or TYPE/NAME ...')
    .option('-l, --selector <labels>', 'objects with these labels')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('--no-show-events', 'without events')
    .option('--show-events', 'with events, which is the default')
  runs<DescribeFlags>(command, context, describe)
}

async function describe(
  args: readonly string[],
  flags: DescribeFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const selected = await selectedBy(args, await openCatalogue(context))
  let code: ExitCode = 0
  let count = 0
  for (const one of selected) {
    for (const object of await objectsOf(one, flags, context)) {
      if (object === undefined) {
        code = 1
        continue
      }
      if (count > 0) context.print('\n\n')
      context.print(severalLines(await textOf(one.resource, object, flags, context)))
      count++
    }
  }
  if (count === 0 && code === 0) context.notice('No resources found')
  return code
}

/** Undefined for an object that cannot be read, which is reported. */
async function objectsOf(
  { resource, name }: Selected,
  flags: DescribeFlags,
  context: CommandContext,
): Promise<readonly (JsonObject | undefined)[]> {
  const session = await context.session()
  if (name === undefined) {
    const path = collectionPath(resource, namespaceOf(session, flags))
    return listObjects(session.api, { path, query: selectorQuery(flags) })
  }
  const answer = await session.api.request({ path: objectPath(resource, session.namespace, name) })
  if (answer.ok) return [answer.value.body]
  context.report(failureError(answer.failure))
  return [undefined]
}

async function textOf(
  resource: ApiResource,
  object: JsonObject,
  { showEvents }: DescribeFlags,
  context: CommandContext,
): Promise<string> {
  const { api } = await context.session()
  const isService = resource.kind === 'Service' && resource.group === ''
  const endpoints = isService ? await endpointsOf(context, object) : ''
  const events = showEvents ? await eventsText(api, object) : ''
  // A ServiceAccount names its tokens only from the side of the Secrets.
  const isAccount = resource.kind === 'ServiceAccount' && resource.group === ''
  const tokens = isAccount ? await tokensText(context, object) : ''
  return objectText(object) + endpoints + tokens + events
}

async function endpointsOf(context: CommandContext, service: JsonObject): Promise<string> {
  const { api } = await context.session()
  const slices = await (await openCatalogue(context)).named('endpointslices')
  return endpointsText(api, slices, service)
}

const ACCOUNT_ANNOTATIONS = ['kubernetes.io/service-account.name', 'orch.io/service-account.name']

async function tokensText(context: CommandContext, account: JsonObject): Promise<string> {
  const { api } = await context.session()
  const namespace = stringAt(account, 'metadata', 'namespace')
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`
  const answer = await api.request({ path })
  if (!answer.ok) return 'Tokens:  <the Secrets cannot be read>\n'
  const secrets = Array.isArray(answer.value.body['items']) ? answer.value.body['items'] : []
  const name = stringAt(account, 'metadata', 'name')
  const own = secrets.filter((secret) =>
    ACCOUNT_ANNOTATIONS.some((key) => stringAt(secret, 'metadata', 'annotations', key) === name),
  )
  const names = own.map((secret) => stringAt(secret, 'metadata', 'name'))
  return `Tokens:  ${names.join(', ') || '<none>'}\n`
}
