import type { Command } from 'commander'
import { isDeepEqual } from '../lib/equal.ts'
import { type JsonObject, stringAt } from '../lib/json.ts'
import {
  type FileFlags,
  type Manifest,
  manifestError,
  readManifests,
} from '../manifests/manifests.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { withoutManagedFields } from './output/documents.ts'
import type { CallFailure } from './session/call-failure.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import type { Session } from './session/open-session.ts'
import { usageError } from './usage/exit-code.ts'
import { eachManifest, type ManifestTarget, manifestTarget } from './writing/manifest-target.ts'
import { manifestRefusal } from './writing/refusal-lines.ts'
import {
  addFileFlags,
  addWriteFlags,
  showWritten,
  type WriteFlags,
  writeQuery,
} from './writing/write-flags.ts'

interface ApplyFlags extends FileFlags, WriteFlags {
  readonly forceConflicts?: boolean
}

/** `orchctl apply -f`: server-side apply. */
export function define(command: Command, context: CommandContext): void {
  addWriteFlags(addFileFlags(command))
    .option('--force-conflicts', 'take over fields that another manager has set')
    .option('--server-side', 'accepted for compatibility: every apply is done by the server')
  runs(command, context, apply)
}

const apply: Run<ApplyFlags> = async (args, flags, context) => {
  if (args.length > 0 || flags.filename === undefined) {
    throw usageError('apply needs -f and no operands', 'write apply -f FILE')
  }
  const manifests = await readManifests(flags, context.host.stdin)
  const catalogue = await openCatalogue(context)
  const session = await context.session()
  return eachManifest(manifests, context, async (manifest) => {
    const target = await manifestTarget(manifest, catalogue, session)
    if (target.name === '') return [nameMissing(manifest)]
    if (flags.dryRun === 'client') {
      await showWritten(target.object, 'applied', flags, context)
      return []
    }
    return applyOne({ manifest, target, flags, session, context })
  })
}

interface Applying {
  readonly manifest: Manifest
  readonly target: ManifestTarget
  readonly flags: ApplyFlags
  readonly session: Session
  readonly context: CommandContext
}

async function applyOne({ manifest, target, flags, session, context }: Applying) {
  const { api } = session
  const before = await api.request({ path: target.path })
  const answer = await api.request({
    method: 'PATCH',
    path: target.path,
    body: target.object,
    contentType: 'application/apply-patch+yaml',
    query: {
      ...writeQuery(flags),
      fieldValidation: 'Strict',
      force: String(flags.forceConflicts === true),
    },
  })
  if (!answer.ok) return manifestRefusal(answer.failure, manifest, hintOf(answer.failure))
  const { status, body } = answer.value
  const verb =
    status === 201 ? 'created' : changeOf(before.ok ? before.value.body : undefined, body)
  await showWritten(body, verb, flags, context)
  return []
}

/** What an apply did to an object that existed before. A dry run changes fields, but never the resourceVersion. */
function changeOf(before: JsonObject | undefined, after: JsonObject): string {
  const version = (object: JsonObject): string => stringAt(object, 'metadata', 'resourceVersion')
  if (before === undefined) return 'applied'
  const isSame =
    version(before) === version(after) &&
    isDeepEqual(withoutManagedFields(before), withoutManagedFields(after))
  return isSame ? 'unchanged' : 'configured'
}

function hintOf({ reason }: CallFailure): string | undefined {
  return reason === 'Conflict'
    ? 'leave these fields out, or take them over with --force-conflicts'
    : undefined
}

function nameMissing(manifest: Manifest) {
  return manifestError(manifest.position('metadata'), 'metadata.name is missing')
}
