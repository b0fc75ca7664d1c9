import { podWrite } from '../../../auth/node/node-writes.ts'
import { stringAt } from '../../../lib/json.ts'
import type { Resource } from '../../resource/resource.ts'
import { nodeRule } from '../shared/node-rule.ts'
import { completePod } from './account/complete.ts'
import { columns } from './columns.ts'
import { defaultPod } from './defaults.ts'
import { podEnvironmentSubresource } from './environment.ts'
import { podGraceSeconds } from './grace.ts'
import { podStreams } from './streams.ts'
import { checkPodUpdate } from './update.ts'
import { checkPod } from './validation.ts'

export const pods: Resource = {
  plural: 'pods',
  singular: 'pod',
  kind: 'Pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Pending' }) },
  deletion: { graceSeconds: podGraceSeconds, returnsMarked: true },
  derived: [podEnvironmentSubresource],
  streamed: podStreams,
  createOnUpdate: false,
  updateNeedsVersion: false,
  countsGenerations: false,
  fields: (object) => ({
    'spec.nodeName': stringAt(object, 'spec', 'nodeName'),
    'spec.restartPolicy': stringAt(object, 'spec', 'restartPolicy'),
    'spec.schedulerName': stringAt(object, 'spec', 'schedulerName'),
    'spec.serviceAccountName': stringAt(object, 'spec', 'serviceAccountName'),
    'status.phase': stringAt(object, 'status', 'phase'),
    'status.podIP': stringAt(object, 'status', 'podIP'),
    'status.nominatedNodeName': stringAt(object, 'status', 'nominatedNodeName'),
  }),
  columns,
  checkWriter: nodeRule(podWrite, 'pods', ''),
  validate: checkPod,
  validateUpdate: checkPodUpdate,
  defaults: defaultPod,
  complete: completePod,
}
