import { SERVICE_NAME, SLICE_MANAGED_BY } from '../../resources/label-names.ts'
import type { Affects } from '../cache/affects.ts'
import type { SliceObject } from '../objects/slice-object.ts'

/** The Services that a slice of one controller belonged to or belongs to. */
export function sliceAffects(manager: string): Affects<SliceObject> {
  return ({ before, after }) =>
    [before, after]
      .filter((slice) => slice?.meta.labels[SLICE_MANAGED_BY] === manager)
      .map((slice) => `${slice?.meta.namespace}/${slice?.meta.labels[SERVICE_NAME] ?? ''}`)
}
