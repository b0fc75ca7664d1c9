import type { Command } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import { type JsonObject, mergePatch, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { objectPath, qualifiedKind, qualifiedName } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { type Selected, selectedBy } from './discovery/selected.ts'
import { outputFormat } from './output/output-format.ts'
import { oneLine } from './output/terminal-text.ts'
import { failureError } from './session/call-failure.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { type ExitCode, usageError } from './usage/exit-code.ts'
import {
  addWriteFlags,
  dryRunSuffix,
  showWritten,
  type WriteFlags,
  writeQuery,
} from './writing/write-flags.ts'

interface ScaleFlags extends WriteFlags {
  readonly replicas: string
  readonly currentReplicas?: string
}

/** `orchctl scale`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('[operands...]', 'TYPE NAME... or TYPE/NAME ...')
    .requiredOption('--replicas <count>', 'the wanted number of Pods')
    .option('--current-replicas <count>', 'scale only if this is the present number')
  addWriteFlags(command)
  runs(command, context, scale)
}

const scale: Run<ScaleFlags> = async (args, flags, context) => {
  const replicas = countOf(flags.replicas, '--replicas')
  const format = await outputFormat(flags.output)
  if (format.type === 'table' && format.isWide) {
    throw usageError('-o wide is for get', 'write json, yaml or name')
  }
  const expected =
    flags.currentReplicas === undefined
      ? undefined
      : countOf(flags.currentReplicas, '--current-replicas')
  const selected = await selectedBy(args, await openCatalogue(context))
  for (const { resource, name } of selected) {
    if (name === undefined) throw usageError('no object is named', 'write TYPE NAME')
    if (resource.subresources.some((one) => one.name === 'scale')) continue
    throw new NodeProxyError(
      'NP_ORCHCTL_NOT_SCALABLE',
      `${qualifiedName(resource)} have no number of replicas`,
      { hint: 'scale what has the subresource scale, such as deployments' },
    )
  }
  let code: ExitCode = 0
  for (const one of selected) {
    const request = {
      replicas,
      expected,
      flags,
      isDocument: !['table', 'name'].includes(format.type),
    }
    const error = await scaleOne(one, request, context)
    if (error === undefined) continue
    context.report(error)
    code = 1
  }
  return code
}

interface ScaleRequest {
  readonly replicas: number
  readonly expected: number | undefined
  readonly flags: ScaleFlags
  /** Whether the scaled object is printed, not only its name. */
  readonly isDocument: boolean
}

async function scaleOne(
  { resource, name = '' }: Selected,
  { replicas, expected, flags, isDocument }: ScaleRequest,
  context: CommandContext,
): Promise<NodeProxyError | undefined> {
  const { api, namespace } = await context.session()
  const own = objectPath(resource, namespace, name)
  const path = `${own}/scale`
  const before = await api.request({ path })
  if (!before.ok) return failureError(before.failure)
  const present = Number(valueAt(before.value.body, 'spec', 'replicas') ?? 0)
  if (expected !== undefined && present !== expected) {
    const message = `${name} has ${present} replicas, not ${expected}`
    return new NodeProxyError('NP_ORCHCTL_PRECONDITION', message, {
      hint: 'nothing was changed; check --current-replicas',
    })
  }
  const resourceVersion = stringAt(before.value.body, 'metadata', 'resourceVersion')
  const guard = expected === undefined ? {} : { metadata: { resourceVersion } }
  if (flags.dryRun !== 'client') {
    const answer = await api.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { ...guard, spec: { replicas } },
      query: writeQuery(flags),
    })
    if (!answer.ok) return failureError(answer.failure)
  }
  if (isDocument) {
    const object = await api.request({ path: own })
    if (!object.ok) return failureError(object.failure)
    const { body } = object.value
    const shown = flags.dryRun === 'client' ? mergePatch(body, { spec: { replicas } }) : body
    await showWritten(shown as JsonObject, 'scaled', flags, context)
    return undefined
  }
  const done = flags.output === 'name' ? '' : ` scaled${dryRunSuffix(flags)}`
  context.print(`${oneLine(`${qualifiedKind(resource)}/${name}`)}${done}\n`)
  return undefined
}

function countOf(text: string, flag: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw usageError(`${flag} ${quote(text)} is no number`, `write ${flag}=3`)
}
