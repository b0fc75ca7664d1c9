import { readMetadata } from '../../../resources/metadata.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkName } from '../shared/checks.ts'

export function checkServiceAccount(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  object.flag('automountServiceAccountToken')
  for (const secret of object.objects('secrets')) checkName(secret, 'subdomain')
  for (const secret of object.objects('imagePullSecrets')) checkName(secret, 'subdomain')
}
