/** The order of names as people count: node-9 comes before node-10. */
export const BY_NAME = new Intl.Collator('en', { numeric: true })
