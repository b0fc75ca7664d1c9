const ORDER = ['', 'Done', 'Pending', 'Conflict', 'Error']

/** The worst state of these; empty: there is none. */
export function worstStatus(statuses: Iterable<string>): string {
  let worst = ''
  for (const status of statuses) {
    if (ORDER.indexOf(status) > ORDER.indexOf(worst)) worst = status
  }
  return worst
}
