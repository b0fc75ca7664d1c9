import { posix } from 'node:path'
import { arrayAt, type Json, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { mountPathFault, pathFault } from './volume-path.ts'
import type { VolumePlan } from './volume-plan.ts'

/** A volume in the files of a container. */
export interface MountPlan {
  readonly volume: VolumePlan
  /** Absolute, without `..` and a slash at its end. */
  readonly path: string
  /** Volumes of files always are. */
  readonly isReadOnly: boolean
  /** A file or folder of the volume; empty: all of it. */
  readonly subPath: string
}

/** The container whose mounts are read. */
export interface MountSource {
  readonly container: Json
  /** `spec.containers[0]`. */
  readonly at: string
  readonly volumes: readonly VolumePlan[]
  readonly faults: string[]
}

/** Reads `volumeMounts`. Those that cannot be made are added to `faults`. */
export function readMounts({ container, at, volumes, faults }: MountSource): readonly MountPlan[] {
  const taken = new Set<string>()
  return arrayAt(container, 'volumeMounts').flatMap((mount, index) => {
    const field = `${at}.volumeMounts[${index}]`
    const refuse = (words: string): void => void faults.push(`${field}${words}`)
    const name = stringAt(mount, 'name')
    const volume = volumes.find((one) => one.name === name)
    const written = stringAt(mount, 'mountPath')
    const wrong = mountPathFault(written)
    const path = posix.join('/', written, '.').replace(/(.)\/$/u, '$1')
    if (volume === undefined) refuse(`.name: there is no volume ${quote(name)}`)
    if (wrong !== undefined) refuse(`.mountPath ${wrong}: ${quote(written)}`)
    else if (taken.has(path)) refuse(`.mountPath is that of another mount: ${quote(written)}`)
    taken.add(path)
    if (stringAt(mount, 'subPathExpr') !== '') refuse('.subPathExpr is not supported: use subPath')
    const subPath = stringAt(mount, 'subPath')
    const subFault = subPath === '' ? undefined : pathFault(subPath)
    if (subFault !== undefined) refuse(`.subPath ${subFault}: ${quote(subPath)}`)
    if (volume === undefined) return []
    const isEmpty = volume.kind === 'empty'
    if (isEmpty && subPath !== '') {
      refuse(
        '.subPath: processes of a Pod could replace parts of an emptyDir by links; mount it all',
      )
    }
    const isReadOnly = !isEmpty || valueAt(mount, 'readOnly') === true
    return [{ volume, path, isReadOnly, subPath }]
  })
}
