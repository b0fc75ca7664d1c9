import type { Command } from 'commander'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { type ApiResource, collectionPath, objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { addNodeFlags, nodeFlagsOf } from '../nodes/node-flags.ts'
import { readNodes } from '../nodes/read-nodes.ts'
import { severalLines } from '../output/terminal-text.ts'
import { listObjects, listPages, objectsOf, PAGE_SIZE } from '../reading/list-pages.ts'
import { namespaceOf, type ScopeFlags, selectorQuery } from '../reading/scope.ts'
import { type Selected, selectedBy } from '../selection/selected.ts'
import { failureError } from '../session/call-failure.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import type { Related } from './describer.ts'
import { eventsCell } from './events.ts'
import { describedKind } from './kinds.ts'
import { pairs, type Row, rowsText } from './rows.ts'
import { createStateRows, type StateFlags, type StateRows } from './state.ts'

interface DescribeFlags extends ScopeFlags, StateFlags {
  readonly showEvents: boolean
}

/** Milliseconds for the node-proxy of a Node, which others cannot reach everywhere. */
const NODE_MS = 3_000

/** `orchctl describe`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('[operands...]', 'TYPE [NAME...], or TYPE/NAME ...')
    .option('-l, --selector <labels>', 'objects with these labels')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('--show-events', 'with events', true)
    .option('--no-show-events', 'without events')
    .option('--no-problems', 'without what orchctl doctor finds about it')
    .option('--nodes', 'of Services: what the node-proxy of every node has of them')
  runs<DescribeFlags>(addNodeFlags(command), context, describe)
}

async function describe(
  args: readonly string[],
  flags: DescribeFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const selected = await selectedBy(args, await openCatalogue(context))
  const readers = { related: relatedOf(context, flags), stateRows: createStateRows(flags, context) }
  let code: ExitCode = 0
  let count = 0
  for (const one of selected) {
    for (const object of await selectedObjects(one, flags, context)) {
      if (object === undefined) {
        code = 1
        continue
      }
      if (count > 0) context.print('\n\n')
      context.print(
        severalLines(await textOf(one.resource, object, { flags, context, ...readers })),
      )
      count++
    }
  }
  if (count === 0 && code === 0) context.notice('No resources found')
  return code
}

/** Undefined for an object that cannot be read, which is reported. */
async function selectedObjects(
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

interface Given {
  readonly flags: DescribeFlags
  readonly context: CommandContext
  readonly related: Related
  readonly stateRows: StateRows
}

async function textOf(
  resource: ApiResource,
  object: JsonObject,
  { flags, context, related, stateRows }: Given,
): Promise<string> {
  const { api } = await context.session()
  const { describe: rowsOf, hasEvents = true } = describedKind(resource.group, resource.kind)
  const metadata = objectAt(object, 'metadata')
  const namespace = stringAt(metadata, 'namespace')
  const rows: readonly Row[] = [
    ['Name', stringAt(metadata, 'name')],
    ['Namespace', namespace === '' ? undefined : namespace],
    ['Labels', pairs(objectAt(metadata, 'labels'))],
    ['Annotations', pairs(objectAt(metadata, 'annotations'), ': ')],
    ...(await rowsOf(object, related)),
    ...(await stateRows(resource, object)),
    [
      'Events',
      flags.showEvents && hasEvents ? await eventsCell(api, object, related.now) : undefined,
    ],
  ]
  return rowsText(rows)
}

function relatedOf(context: CommandContext, flags: DescribeFlags): Related {
  return {
    now: Date.now(),
    async list(word, namespace, query = {}) {
      const { api } = await context.session()
      const resource = await (await openCatalogue(context)).named(word).catch(() => undefined)
      if (resource === undefined) return { ok: false, why: 'the server does not serve it' }
      const path = collectionPath(resource, namespace === '' ? undefined : namespace)
      const answer = await listPages(api, { path, query }, PAGE_SIZE)
      if (!answer.ok) return { ok: false, why: answer.failure.reason }
      return { ok: true, objects: answer.pages.flatMap(objectsOf) }
    },
    async proxyStatus(node) {
      const [answer] = await readNodes([node], context, {
        ...nodeFlagsOf(flags),
        ...{ path: '/inspection/v1/status', timeoutMs: NODE_MS },
      })
      if (answer?.result.ok === true) return answer.result
      return { ok: false, why: answer?.result.error.message ?? 'no answer' }
    },
  }
}
