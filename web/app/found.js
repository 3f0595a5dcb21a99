// What customers sent, of the keys that were found by it. A store keeps neither the text of a key nor the fields of its request, and
// a service that is asked about one needs them. Forgotten with the page.
const found = new Map();

export const remember = (id, request) => found.set(id, request);
export const requestOf = (id) => found.get(id) ?? null;
