DROP TABLE partner_note_files, partner_notes;
