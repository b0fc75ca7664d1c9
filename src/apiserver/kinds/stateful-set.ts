import { readMetadata } from '../../resources/metadata.ts'
import type { Raw, Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import {
  checkCountOrPart,
  checkInteger,
  checkName,
  checkOneOf,
  checkUnchanged,
} from './shared/checks.ts'
import { change, changeEach, fill } from './shared/edit.ts'
import { queryText } from './shared/label-selector.ts'
import {
  checkSelectorUnchanged,
  checkTemplate,
  containerColumns,
  defaultStrategy,
  defaultTemplate,
  readyColumn,
  selectorOf,
} from './shared/pod-spec/pod-template.ts'

const NON_NEGATIVE = ['replicas', 'minReadySeconds', 'revisionHistoryLimit']
const RETENTION = ['whenDeleted', 'whenScaled']
const IMMUTABLE = ['serviceName', 'podManagementPolicy', 'volumeClaimTemplates']

const SPEC = { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady' }
const RETAIN = { whenDeleted: 'Retain', whenScaled: 'Retain' }

/** The columns of `kubectl get statefulsets`. */
const columns: readonly Column[] = [nameColumn, readyColumn, ageColumn, ...containerColumns]

/** apps/v1 StatefulSet with the subresources status and scale. */
export const statefulSets: Resource = {
  plural: 'statefulsets',
  singular: 'statefulset',
  kind: 'StatefulSet',
  shortNames: ['sts'],
  categories: ['all'],
  namespaced: true,
  versions: [{ group: 'apps', version: 'v1' }],
  status: { initial: () => ({}) },
  scale: { selector: (object) => queryText(selectorOf(object)) },
  countsGenerations: true,
  columns,
  validate: checkStatefulSet,
  validateUpdate: checkStatefulSetUpdate,
  defaults: defaultStatefulSet,
}

/** The defaults of apps/v1. */
function defaultStatefulSet(statefulSet: Raw): Raw {
  return change(statefulSet, 'spec', (given) => {
    const filled = change(fill(given, SPEC), 'updateStrategy', (strategy) =>
      defaultStrategy(strategy, { partition: 0 }),
    )
    const spec = change(filled, 'persistentVolumeClaimRetentionPolicy', (kept) =>
      fill(kept, RETAIN),
    )
    return defaultTemplate(changeEach(spec, 'volumeClaimTemplates', defaultClaim))
  })
}

function defaultClaim(given: Raw): Raw {
  const claim = change(given, 'spec', (spec) => fill(spec, { volumeMode: 'Filesystem' }))
  return change(claim, 'status', (status) => fill(status, { phase: 'Pending' }))
}

/** The rules of apps/v1. */
function checkStatefulSet(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  for (const key of NON_NEGATIVE) checkInteger(spec, key, 0)
  checkOneOf(spec, 'podManagementPolicy', ['OrderedReady', 'Parallel'])
  const retention = spec.object('persistentVolumeClaimRetentionPolicy')
  for (const key of RETENTION) checkOneOf(retention, key, ['Retain', 'Delete'])
  checkStrategy(spec.object('updateStrategy'))
  checkTemplate(spec, { claims: checkClaims(spec) })
}

function checkStrategy(strategy: Reader): void {
  checkOneOf(strategy, 'type', ['RollingUpdate', 'OnDelete'])
  if (strategy.value('type') === 'OnDelete' && strategy.value('rollingUpdate') !== undefined) {
    strategy.refuse('rollingUpdate', 'must be absent when type is OnDelete')
  }
  const rolling = strategy.object('rollingUpdate')
  checkInteger(rolling, 'partition', 0)
  checkCountOrPart(rolling, 'maxUnavailable')
}

/** The names of the claims, which are those of volumes of the Pods. */
function checkClaims(spec: Reader): readonly unknown[] {
  return spec.objects('volumeClaimTemplates').map((claim) => {
    const metadata = claim.object('metadata')
    checkName(metadata, 'subdomain')
    return metadata.value('name')
  })
}

/** The selector and the fields that determine the names, the order and the volumes of the Pods are immutable, as in apps/v1. */
function checkStatefulSetUpdate(next: Reader, old: Reader): void {
  checkSelectorUnchanged(next, old)
  for (const key of IMMUTABLE) checkUnchanged(next.object('spec'), old.object('spec'), key)
}
