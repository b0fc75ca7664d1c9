import { type JsonObject, objectAt, stringAt, valueAt, without } from '../../lib/json.ts'
import { NOT_COPIED, REVISION } from '../../resources/label-names.ts'
import { ownedBy } from '../describe/workloads.ts'
import { listObjects, PAGE_SIZE } from '../session/list-pages.ts'
import type { Session } from '../session/open-session.ts'

const CHANGE_CAUSE = 'kubernetes.io/change-cause'
const TEMPLATE_HASH = 'pod-template-hash'
const APPS = '/apis/apps/v1/namespaces'

/** A template that a workload had, or has. */
export interface Revision {
  readonly number: number
  /** Empty: none was given. */
  readonly changeCause: string
  readonly template: JsonObject
  /** Of a Deployment: the annotations that it had with this template. */
  readonly annotations?: JsonObject
}

/** The revisions of a workload, the oldest first. @throws NodeProxyError */
export async function revisionsOf(
  workload: JsonObject,
  plural: string,
  { api, namespace }: Session,
): Promise<readonly Revision[]> {
  const isDeployment = plural === 'deployments'
  const collection = isDeployment ? 'replicasets' : 'controllerrevisions'
  const path = `${APPS}/${namespace}/${collection}`
  const own = ownedBy(workload, await listObjects(api, { path }, PAGE_SIZE))
  const read = own.map((one) => (isDeployment ? ofReplicaSet(one) : ofControllerRevision(one)))
  return read.toSorted((a, b) => a.number - b.number)
}

function ofReplicaSet(set: JsonObject): Revision {
  const annotations = objectAt(set, 'metadata', 'annotations')
  const template = objectAt(set, 'spec', 'template')
  const metadata = objectAt(template, 'metadata')
  const labels = without(objectAt(metadata, 'labels'), TEMPLATE_HASH)
  return {
    number: Number.parseInt(stringAt(annotations, REVISION), 10) || 0,
    changeCause: stringAt(annotations, CHANGE_CAUSE),
    template: { ...template, metadata: { ...metadata, labels } },
    annotations: without(annotations, ...NOT_COPIED),
  }
}

function ofControllerRevision(revision: JsonObject): Revision {
  return {
    number: Number(valueAt(revision, 'revision') ?? 0),
    changeCause: stringAt(revision, 'metadata', 'annotations', CHANGE_CAUSE),
    template: without(objectAt(revision, 'data', 'spec', 'template'), '$patch'),
  }
}

/** The JSON patch (RFC 6902) that brings a revision back; the server refuses it if the workload has changed meanwhile. */
export function undoPatch(workload: JsonObject, revision: Revision): JsonObject[] {
  const { template } = revision
  const annotations = annotationsAfter(workload, revision)
  const version = stringAt(workload, 'metadata', 'resourceVersion')
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: version },
    { op: 'replace', path: '/spec/template', value: template },
    ...(annotations === undefined
      ? []
      : [
          {
            op: 'add',
            path: '/metadata/annotations',
            value: annotations,
          },
        ]),
  ]
}

/** The workload as the patch of `undoPatch` changes it. */
export function undone(workload: JsonObject, revision: Revision): JsonObject {
  const annotations = annotationsAfter(workload, revision)
  return {
    ...workload,
    metadata: { ...objectAt(workload, 'metadata'), ...(annotations && { annotations }) },
    spec: { ...objectAt(workload, 'spec'), template: revision.template },
  }
}

/** The annotations of a Deployment with a revision: those that it had then, and those that are not copied; else undefined. */
function annotationsAfter(workload: JsonObject, { annotations }: Revision): JsonObject | undefined {
  if (annotations === undefined) return undefined
  const present = objectAt(workload, 'metadata', 'annotations')
  const own = NOT_COPIED.flatMap((key) => {
    const value = valueAt(present, key)
    return value === undefined ? [] : [[key, value] as const]
  })
  return { ...annotations, ...Object.fromEntries(own) }
}
