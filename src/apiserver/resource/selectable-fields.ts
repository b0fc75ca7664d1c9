/** Fields by which objects of a resource can be selected, apart from metadata. */
export type SelectableFields = Readonly<Record<string, string>>
