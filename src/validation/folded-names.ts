/**
 * Maps file names that some file system treats as equal to one form, ignoring letter case, Unicode normalization and
 * ignorable characters.
 */
export function foldedName(name: string): string {
  return name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC');
}
