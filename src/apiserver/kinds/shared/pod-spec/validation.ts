import { isLabel, isPortName } from '../../../../resources/names.ts'
import { readAllocatedPort, readPort, readProtocol } from '../../../../resources/port.ts'
import type { Reader } from '../../../../resources/reader.ts'
import {
  checkField,
  checkLabel,
  checkName,
  checkOneOf,
  checkSubdomain,
  LABEL_FAULT,
} from '../checks.ts'
import { checkEnvironment } from './environment-validation.ts'
import { checkMounts } from './mount-validation.ts'
import { checkVolumes } from './volume-validation.ts'

const RESTARTS = ['Always', 'OnFailure', 'Never']
const PORT_NAME_FAULT = 'must be at most 15 of a-z, 0-9 and -, with a letter, such as http'

/** What a pod consists of, by itself or as a template. */
export function checkPodSpec(spec: Reader): void {
  if (spec.list('containers').length === 0) {
    spec.refuse('containers', 'must have at least one container')
  }
  const volumes = checkVolumes(spec)
  const names = new Set<unknown>()
  for (const key of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of spec.objects(key)) {
      checkContainer(container, names)
      checkMounts(container, volumes)
    }
  }
  for (const secret of spec.objects('imagePullSecrets')) checkName(secret, 'subdomain')
  checkOneOf(spec, 'restartPolicy', RESTARTS)
  checkSubdomain(spec, 'nodeName')
  checkSubdomain(spec, 'serviceAccountName')
  checkLabel(spec, 'hostname')
  checkLabel(spec, 'subdomain')
  spec.flag('hostNetwork')
  spec.flag('automountServiceAccountToken')
}

function checkContainer(container: Reader, names: Set<unknown>): void {
  const name = container.value('name')
  if (typeof name !== 'string' || !isLabel(name)) container.refuse('name', LABEL_FAULT)
  else if (names.has(name)) container.refuse('name', 'must differ from the other containers')
  names.add(name)
  for (const port of container.objects('ports')) {
    readPort(port, 'containerPort')
    readAllocatedPort(port, 'hostPort')
    readProtocol(port)
    const isName = (value: unknown) => typeof value === 'string' && isPortName(value)
    checkField(port, 'name', isName, PORT_NAME_FAULT)
  }
  checkEnvironment(container)
}
