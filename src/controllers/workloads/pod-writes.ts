import type { JsonObject } from '../../lib/json.ts'
import { readCondition, setCondition } from '../../resources/status-condition.ts'
import { typeOf } from '../cache/collection-route.ts'
import { isEmpty } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { WorkloadObject } from '../objects/workload-object.ts'
import {
  type Create,
  type Deletion,
  type EventWrite,
  eventWrite,
  statusPatch,
  type Write,
} from '../runner/write.ts'
import { type PodDifference, type PodOwner, podOf } from './shared/pods-of.ts'
import { type Conditions, conditionsOf } from './shared/status-difference.ts'

/** Type of the condition of a workload whose Pods the server refuses to make or delete. */
const FAILURE = 'ReplicaFailure'

/** The workload that Events are about, and how they are worded. */
export interface PodReports {
  readonly collection: PodOwner
  readonly owner: WorkloadObject
  readonly now: number
  /** The sentence about a Pod that was made or deleted, or with `problem` was not. */
  readonly message: (verb: 'create' | 'delete', pod: string, problem?: string) => string
  /** The strategic merge patch that gives the status these conditions and the present counts; empty: it has them. */
  readonly status: (conditions: Conditions) => JsonObject
}

/** The sentences of ReplicaSets, DaemonSets and Jobs. */
export function podMessage(verb: 'create' | 'delete', pod: string, problem?: string): string {
  const [doing, done] = verb === 'create' ? ['creating', 'Created'] : ['deleting', 'Deleted']
  return problem === undefined ? `${done} pod: ${pod}` : `Error ${doing}: ${problem}`
}

/** Makes a Pod of the template, with an Event. */
export function podCreation(reports: PodReports, difference: PodDifference): Create {
  const pod = podOf(reports.collection, reports.owner, difference)
  return {
    ...pod,
    decidedFor: reports,
    done: (name) => [
      podEvent(reports, 'Normal', 'SuccessfulCreate', reports.message('create', name)),
    ],
    refused: ({ message }) =>
      refusedStatus(reports, 'FailedCreate', reports.message('create', pod.name, message), message),
  }
}

/** Deletes a Pod, and then records the Events `why`, and one about the deletion. */
export function podDeletion(
  reports: PodReports,
  { meta }: PodObject,
  ...why: readonly EventWrite[]
): Deletion {
  const { message } = reports
  return {
    verb: 'delete',
    collection: 'pods',
    meta,
    decidedFor: reports,
    done: () => [
      ...why,
      podEvent(reports, 'Normal', 'SuccessfulDelete', message('delete', meta.name)),
    ],
    refused: (failure) => {
      const sentence = message('delete', meta.name, failure.message)
      return refusedStatus(reports, 'FailedDelete', sentence, failure.message)
    },
  }
}

/** An Event about the workload. */
export function podEvent(
  { collection, owner, now }: Pick<PodReports, 'collection' | 'owner' | 'now'>,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): EventWrite {
  const subject = { ...typeOf(collection), meta: owner.meta }
  return eventWrite(subject, { controller: subject.kind.toLowerCase(), type, reason, message }, now)
}

/** Writes the present counts, and removes the condition of refused writes; no write if the status is up to date. */
export function acceptedStatus(
  { collection, owner, status }: PodReports,
  conditions: Conditions = conditionsOf(owner.status),
): readonly Write[] {
  const body = status(new Map([...conditions].filter(([type]) => type !== FAILURE)))
  return isEmpty(body) ? [] : [statusPatch(collection, owner.meta, body)]
}

/**
 * Writes the status of a workload one of whose Pods cannot be made or deleted, with a condition that has `message`. The
 * Event with `sentence` is recorded only if the condition is new, because the refused write is repeated.
 */
export function refusedStatus(
  reports: PodReports,
  reason: string,
  sentence: string,
  message: string,
): readonly Write[] {
  const { collection, owner, now } = reports
  const known = conditionsOf(owner.status)
  // The message of a refusal may name the Pod, which has another name at the next attempt.
  const isKnown = known.has(FAILURE)
  const wanted = { type: FAILURE, status: 'True', reason, message } as const
  const condition = setCondition(readCondition(owner.status, FAILURE), wanted, now)
  const body = reports.status(isKnown ? known : new Map([...known, [FAILURE, condition]]))
  return [
    ...(isKnown ? [] : [podEvent(reports, 'Warning', reason, sentence)]),
    ...(isEmpty(body) ? [] : [statusPatch(collection, owner.meta, body)]),
  ]
}
