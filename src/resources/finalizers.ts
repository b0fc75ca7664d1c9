/** Finalizers that the API server sets and the controllers take away. */

/** The object goes after its dependents. */
export const FOREGROUND = 'foregroundDeletion'
/** The object goes when its dependents have no owner. */
export const ORPHAN = 'orphan'
/** In `spec.finalizers`: the namespace goes when it is empty. */
export const EMPTIED = 'kubernetes'
