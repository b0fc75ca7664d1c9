import { stringAt } from '../../../lib/json.ts'
import type { Resource } from '../../resource/resource.ts'
import { addressOfUnreadable } from './allocation/captured-addresses.ts'
import { captureWarnings, nodeCapture } from './allocation/external-ips.ts'
import { allocationsOf, releaseOperations } from './allocation/release-operations.ts'
import { columns } from './columns.ts'
import { defaultService } from './defaults.ts'
import { checkServiceUpdate } from './update.ts'
import { checkService } from './validation.ts'

export const services: Resource = {
  plural: 'services',
  singular: 'service',
  kind: 'Service',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ loadBalancer: {} }) },
  allocation: { release: releaseOperations, keysOf: allocationsOf },
  checkAmong: (objects, next, old) =>
    nodeCapture(objects, next, old) ?? addressOfUnreadable(objects.unreadable(services), next, old),
  warnings: captureWarnings,
  createOnUpdate: false,
  updateNeedsVersion: true,
  countsGenerations: false,
  fields: (object) => ({
    'spec.clusterIP': stringAt(object, 'spec', 'clusterIP'),
    'spec.type': stringAt(object, 'spec', 'type'),
  }),
  columns,
  validate: checkService,
  validateUpdate: checkServiceUpdate,
  defaults: defaultService,
}
