import { posix } from 'node:path'
import type { Reader } from '../../../../resources/reader.ts'
import { checkField } from '../checks.ts'
import { isInnerPath, PATH_FAULT } from './inner-path.ts'

/** Where a container sees which volumes: each at a path of its own. */
export function checkMounts(container: Reader, volumes: ReadonlySet<unknown>): void {
  const paths = new Set<string>()
  for (const mount of container.objects('volumeMounts')) {
    if (!volumes.has(mount.value('name'))) mount.refuse('name', 'must be the name of a volume')
    checkMountPath(mount, paths)
    mount.flag('readOnly')
    for (const key of ['subPath', 'subPathExpr']) checkField(mount, key, isInnerPath, PATH_FAULT)
  }
}

function checkMountPath(mount: Reader, paths: Set<string>): void {
  const path = mount.value('mountPath')
  if (typeof path !== 'string' || path === '' || /\p{C}/u.test(path)) {
    mount.refuse('mountPath', 'must be a path in the container, such as /etc/app')
    return
  }
  const mounted = posix.join('/', path, '.')
  if (paths.has(mounted)) mount.refuse('mountPath', 'must differ from the other mounts')
  paths.add(mounted)
}
